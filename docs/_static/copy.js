// A button in each block of code that copies its text.
addEventListener("DOMContentLoaded", () => {
  for (const block of document.querySelectorAll(".bd-article div.highlight pre")) {
    const text = block.textContent;
    const button = document.createElement("button");
    button.className = "copy";
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 1500);
    });
    block.prepend(button);
  }
});
