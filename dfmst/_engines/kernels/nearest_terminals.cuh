// A search from many vertices at once for the nearest of them. A distance is a word of 64 bits: an integer, or the bits of
// a float that is not negative, which are ordered alike. Distances only decrease, so that their end does not depend on
// the order of the steps.

template <typename W> DEVICE u64 further(u64 distance, W length) { return distance + (u64)length; }
DEVICE u64 further(u64 distance, f64 length) { return bits_of(real_of(distance) + length); }

// Each vertex of the front searches around itself, in a queue of its own, for a limited number of steps; the vertices
// that are then left are flagged for the next launch. On a GPU the queue is one register.
#ifdef __CUDACC_RTC__
#define QUEUE 1
#else
#define QUEUE 128
#endif
KERNEL_OF(W, search_around, (const u32* front, const u64* offset, const u32* other, const W* length, u64* distance,
                             u64* waiting)) {
  u32 queue[QUEUE], first = 0, behind = 1;  // counts of entries taken and added
  queue[0] = front[i];
  for (u32 step = 0; step < 128 && first < behind; ++step) {
    const u32 vertex = queue[first++ % QUEUE];
    const u64 mine = load(&distance[vertex]);
    for (u64 at = offset[vertex]; at < offset[vertex + 1]; ++at) {
      const u32 next = other[at];
      const u64 reach = further(mine, length[at]);
      if (reach >= load(&distance[next])) continue;
      atomic_min(&distance[next], reach);
      if (behind - first < QUEUE) queue[behind++ % QUEUE] = next;
      else set_flag(waiting, next);
    }
  }
  for (; first < behind; ++first) set_flag(waiting, queue[first % QUEUE]);
} END
#undef QUEUE

// The edge by which each vertex was reached from a nearer one: the earliest such. `open` flags reached vertices without
// one, whose way begins with edges that do not change the distance.
KERNEL_OF(W, lead_back, (const u64* offset, const u32* edge, const u32* other, const W* length, const u64* distance,
                         u32* parent, u32* via, u8* open)) {
  const u64 mine = distance[i];
  parent[i] = (u32)i;
  via[i] = ~0u;
  open[i] = 0;
  if (mine == 0 || mine == ~0ull) {
    open[i] = mine == 0;
    return;
  }
  for (u64 at = offset[i]; at < offset[i + 1]; ++at) {
    const u64 before = distance[other[at]];
    if (before >= mine || further(before, length[at]) != mine || edge[at] >= via[i]) continue;
    via[i] = edge[at];
    parent[i] = other[at];
  }
  open[i] = via[i] == ~0u;
} END

// Flags every vertex on the way from each of some vertices to its terminal.
KERNEL(mark_ways, (const u32* begin, const u32* parent, u64* flags)) {
  for (u32 at = begin[i]; !(load(&flags[at >> 6]) >> (at & 63) & 1); at = parent[at]) set_flag(flags, at);
} END
