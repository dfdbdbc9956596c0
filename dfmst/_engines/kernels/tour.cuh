// The Euler tour of a forest: every edge is two arcs, which are twins. After an arc, the tour takes the arc that follows
// its twin around their vertex. Arcs have places in a list ordered by their tails. The tour of a tree ends in the first
// arc of the next tree, so that there is one list.

KERNEL(arc_records, (const u32* source, const u32* target, u64 edges, u64* records)) {
  records[i] = (u64)(i < edges ? source[i] : target[i - edges]) << 32 | i;
} END

KERNEL(arc_places, (const u64* records, u32* place)) { place[(u32)records[i]] = (u32)i; } END

DEVICE u32 twin_of(u64 record, u64 edges) { return (u32)record < edges ? (u32)(record + edges) : (u32)(record - edges); }

// The place of each arc's twin, and the place after each place. `after` of a root is the first place of the next tree, or
// ~0 behind the last one; ~1 marks a vertex that is no root.
KERNEL(follow_arcs, (const u64* records, const u32* place, const u64* offset, const u32* after, u64 edges, u32* twin,
                     u32* next)) {
  if (i + 16 < count) PREFETCH(&place[twin_of(records[i + 16], edges)]);
  const u64 vertex = records[i] >> 32, end = offset[vertex + 1];
  const u32 turn = after[vertex], other = place[twin_of(records[i], edges)];
  twin[i] = other;
  next[other] = i + 1 < end ? (u32)i + 1 : turn == ~1u ? (u32)offset[vertex] : turn;
} END

// Ranks of a list (Helman and JaJa 2001): of each 64 places one is a splitter, at an offset without a pattern. A walk from
// each splitter to the next one numbers its places; `onward` is the splitter at which it ends. Eight walks of an index
// take their steps in turns, so that their cache misses overlap. The head of the list is the last splitter.
DEVICE u64 splitter_at(u64 block) { return block * 64 + ((u32)(block * 2654435769u) >> 26); }

KERNEL(walk_list, (const u32* next, u64 length, u64 splitters, u64 head, u64* walked, u32* onward, u32* steps)) {
  u32 at[8], taken[8], walking = 0;
  for (u32 k = 0; k < 8; ++k) {
    const u64 number = i * 8 + k, begin = number == splitters ? head : splitter_at(number);
    const bool walks = number <= splitters && begin < length && (number == splitters || begin != head);
    at[k] = walks ? (u32)begin : ~0u;
    taken[k] = 0;
    walking += walks;
    if (number > splitters) continue;
    onward[number] = ~0u;
    steps[number] = 0;
  }
  while (walking)
    for (u32 k = 0; k < 8; ++k) {
      if (at[k] == ~0u) continue;
      const u64 number = i * 8 + k;
      walked[at[k]] = number << 32 | taken[k]++;
      const u32 to = next[at[k]];
      if (to != ~0u && splitter_at(to >> 6) != to) {
        at[k] = to;
        continue;
      }
      onward[number] = to == ~0u ? ~0u : to >> 6;
      steps[number] = taken[k];
      at[k] = ~0u;
      --walking;
    }
} END

KERNEL(rank_list, (const u64* walked, const u32* base, u32* rank)) {
  rank[i] = base[walked[i] >> 32] + (u32)walked[i];
} END

// An arc that comes after its twin leads back to the root: it sets its tail's parent, the edge to it, and the ranks of both
// arcs. `away` flags the other arcs by rank.
KERNEL(lead_away, (const u64* records, const u32* twin, const u32* rank, u64 edges, u8* away, u32* parent, u32* edge,
                   u32* first, u32* last)) {
  if (i + 16 < count) PREFETCH(&rank[twin[i + 16]]);
  const u32 mine = rank[i], other = rank[twin[i]];
  away[mine] = mine < other;
  if (mine < other) return;
  const u32 arc = (u32)records[i], tail = (u32)(records[i] >> 32);
  parent[tail] = (u32)(records[twin[i]] >> 32);
  edge[tail] = arc < edges ? arc : (u32)(arc - edges);
  first[tail] = other;
  last[tail] = mine;
} END

// Depth, place in depth-first order, and number of vertices below each vertex and with it. `away` has become its running
// sum; `tree` is the number of each vertex's tree, and `begin` the place of its root.
KERNEL(number_tree, (const u32* away, const u32* edge, const u32* first, const u32* last, const u32* root,
                     const u32* tree, const u32* begin, u32* depth, u32* order, u32* size)) {
  const u32 mine = tree[root[i]];
  if (edge[i] == ~0u) {
    depth[i] = 0;
    order[i] = begin[mine];
    size[i] = begin[mine + 1] - begin[mine];
    return;
  }
  const u32 passed = away[first[i]];
  depth[i] = (u32)(2 * (u64)passed - first[i] - 1);
  order[i] = passed + mine;
  size[i] = (last[i] - first[i] + 1) / 2;
} END

// All of that by one thread, which reads a list of the arcs of each vertex, and visits the vertices level by level; and, if
// `sum` is no null pointer, the greatest edge (~0: none) of the path to each root, and the sum of the lengths of its edges,
// which are the bits of reals (`real` is 1) or integers. Arcs around a vertex have the same order as in a tour: those that leave it as a source come first. `queue` has the visited
// vertices, each with the edge to its parent in the high half, and `above` the parent's place there. Children are next to
// each other, so that sizes are summed up and places are handed down in sequence. `arc` has four entries a vertex: at last
// these are a record of each visited vertex, as to write every column in the order of visits takes twice as long.
HOST_KERNEL(visit_levels, (const u32* source, const u32* target, u64 edges, const u64* length, u32 real, const u32* root,
                           u64 vertices, u32* begin, u64* arc, u64* queue, u32* above, u32* room, u32* parent, u32* edge,
                           u32* depth, u32* order, u32* size, u64* sum, u32* greatest)) {
  if (i) return;
  for (u64 j = 0; j < edges; ++j) {
    ++begin[source[j]];
    ++begin[target[j]];
  }
  u32 arcs = 0, visited = 0;
  for (u64 j = 0; j < vertices; ++j) {
    arcs += begin[j];
    begin[j] = arcs;  // the end of the list, from which it is filled
    if (root[j] == j) queue[visited++] = (u64)~0u << 32 | j;
  }
  const u32 trees = visited;
  for (u32 side = 2; side-- > 0;) {
    const u32 *const tail = side ? target : source, *const head = side ? source : target;
    for (u64 j = edges; j-- > 0;) {
      if (STOPPED_AT(j)) return;
      if (j >= 32) PREFETCH(&begin[tail[j - 32]]);
      if (j >= 16) PREFETCH_WRITE(&arc[begin[tail[j - 16]] - 1]);
      arc[--begin[tail[j]]] = j << 32 | head[j];
    }
  }
  begin[vertices] = arcs;
  for (u32 at = 0; at < visited; ++at) {
    if (STOPPED_AT(at)) return;
    if (at + 32 < visited) PREFETCH(&begin[(u32)queue[at + 32]]);
    if (at + 16 < visited) PREFETCH(&arc[begin[(u32)queue[at + 16]]]);
    const u32 vertex = (u32)queue[at], own = (u32)(queue[at] >> 32), first = begin[vertex], last = begin[vertex + 1];
    u32 behind = first;  // the arc to the parent
    if (own != ~0u)
      while ((u32)(arc[behind++] >> 32) != own) {}
    for (u32 k = behind; k < last; ++k) {
      above[visited] = at;
      queue[visited++] = arc[k];
    }
    for (u32 k = first; k + 1 < behind; ++k) {
      above[visited] = at;
      queue[visited++] = arc[k];
    }
    room[at] = 1;
  }
  for (u32 at = visited; at-- > trees;) room[above[at]] += room[at];
  u32* const place = begin;
  for (u32 at = 0, next = 0; at < visited; ++at) {
    if (at + 16 < visited) PREFETCH_WRITE(&place[(u32)queue[at + 16]]);
    if (sum && at + 16 < visited && at + 16 >= trees) PREFETCH(&length[queue[at + 16] >> 32]);
    const bool below = at >= trees;
    const u32 vertex = (u32)queue[at], own = (u32)(queue[at] >> 32), members = room[at];
    u64 *const record = &arc[(u64)at * 4], *const up = below ? &arc[(u64)above[at] * 4] : record;
    u32* const free = below ? &room[above[at]] : &next;  // `room` of a visited vertex has become its next child's place
    record[2] = members;
    if (sum) {
      const u32 before = below ? (u32)(up[2] >> 32) : ~0u;
      record[2] |= (u64)(before != ~0u && before > own ? before : own) << 32;
      record[3] = !below ? 0 : real ? bits_of(real_of(up[3]) + real_of(length[own])) : up[3] + length[own];
    }
    record[0] = (u64)own << 32 | (below ? (u32)queue[above[at]] : vertex);
    record[1] = (u64)*free << 32 | (below ? (u32)up[1] + 1 : 0);
    room[at] = *free + 1;
    *free += members;
    place[vertex] = at;
  }
  for (u64 vertex = 0; vertex < vertices; ++vertex) {
    if (vertex + 16 < vertices) PREFETCH(&arc[(u64)place[vertex + 16] * 4]);
    const u64* const record = &arc[(u64)place[vertex] * 4];
    parent[vertex] = (u32)record[0];
    edge[vertex] = (u32)(record[0] >> 32);
    depth[vertex] = (u32)record[1];
    order[vertex] = (u32)(record[1] >> 32);
    size[vertex] = (u32)record[2];
    if (!sum) continue;
    greatest[vertex] = (u32)(record[2] >> 32);
    sum[vertex] = record[3];
  }
} END

// Trees in the Newick format, one a line: the children of a vertex in brackets, then its name and the length of the edge to
// its parent. Only the first `named` vertices have names. `end` is the place behind each line.
HOST_KERNEL(write_trees, (const u32* top, u64 trees, const u32* sequence, const u32* parent, const u32* edge,
                          const u32* order, const u32* size, const u8* name, const i64* name_begin, u64 named,
                          const u8* length, const i64* length_begin, u8* text, u64* end)) {
  if (i) return;
  u64 at = 0;
  const auto copy = [&](const u8* from, const i64* begin, u64 entry) {
    const u64 width = (u64)(begin[entry + 1] - begin[entry]);
    std::memcpy(text + at, from + begin[entry], width);
    at += width;
  };
  const auto write = [&](u32 vertex) {
    if (vertex < named) copy(name, name_begin, vertex);
    const u32 own = edge[vertex];
    if (!length_begin || own == ~0u || length_begin[own] == length_begin[own + 1]) return;
    text[at++] = ':';
    copy(length, length_begin, own);
  };
  for (u64 k = 0; k < trees; ++k) {
    const u64 begin = order[top[k]], last = begin + size[top[k]];
    for (u64 j = begin; j < last; ++j) {
      if (STOPPED_AT(j)) return;
      if (j + 48 < last) {
        PREFETCH(&parent[sequence[j + 48]]);
        PREFETCH(&edge[sequence[j + 48]]);
        const u32 far = sequence[j + 32], near = sequence[j + 16];
        if (far < named) PREFETCH(&name_begin[far]);
        if (near < named) PREFETCH(&name[name_begin[near]]);
        if (length_begin) {
          PREFETCH(&length_begin[edge[far]]);
          PREFETCH(&length[length_begin[edge[near]]]);
        }
      }
      u32 vertex = sequence[j];
      const u32 up = j + 1 < last ? parent[sequence[j + 1]] : ~0u;
      if (up == vertex) {
        text[at++] = '(';
        continue;
      }
      for (write(vertex); parent[vertex] != up && parent[vertex] != vertex; write(vertex)) {
        vertex = parent[vertex];
        text[at++] = ')';
      }
      if (j + 1 < last) text[at++] = ',';
    }
    text[at++] = ';';
    text[at++] = '\n';
    end[k] = at;
  }
} END

// The least and the greatest place in depth-first order to which rows outside the tree lead from each place.
KERNEL_OF(V, reach_orders, (const V* source, const V* target, const u8* chosen, const u32* order, u32* least,
                            u32* greatest)) {
  if (chosen[i]) return;
  const u32 a = order[source[i]], b = order[target[i]], low = a < b ? a : b, high = a < b ? b : a;
  if (low < load(&least[high])) atomic_min(&least[high], low);
  if (high > load(&greatest[low])) atomic_max(&greatest[low], high);
} END
