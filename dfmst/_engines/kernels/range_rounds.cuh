// Boruvka's rounds inside ranges of 2^width vertices, each range by one thread in its own cache.
//
// An edge lies inside a range, or is cut. The limit of a vertex is the lightest cut edge at it, by its leading bits;
// that of a component is the least of its vertices' limits. A component's lightest edge inside its range belongs to the
// forest if it is lighter than the component's limit, whatever lies outside the range; otherwise the component waits.
// When few components of a range can still join, the edges between them are put off, as the cut ones are: these edges
// are what is left when all ranges are contracted.
//
// No branch depends on an edge: a processor would guess it wrong too often.

// Both ends of an edge in a range, the source above. Ranges of up to 2^16 vertices have the short form.
template <typename Vertex> struct BothOf;
template <> struct BothOf<u16> { typedef u32 type; };
template <> struct BothOf<u32> { typedef u64 type; };
template <typename Vertex> using Both = typename BothOf<Vertex>::type;
template <typename Vertex> DEVICE u32 first_of(Both<Vertex> both) { return (u32)(both >> 8 * sizeof(Vertex)); }
template <typename Vertex> DEVICE u32 second_of(Both<Vertex> both) { return (Vertex)both; }
template <typename Vertex> DEVICE Both<Vertex> both_of(u32 first, u32 second) {
  return (Both<Vertex>)first << 8 * sizeof(Vertex) | second;
}

// A range's columns. `position` and `weights` are given where edges whose leading bits agree compare by whole keys.
template <typename Vertex> struct Range {
  u32* leading;
  const u32* position;
  Weights weights;
  Both<Vertex>* ends;
  u8* marks;
  u64 edges, vertices;
  u32* limit;
};

// What a thread needs to solve a range: for each edge a record and ends, for each vertex the rest.
template <typename Vertex> struct Room {
  u64 *records, *lightest;
  Both<Vertex>* between;
  u32* limits;
  Vertex *parent, *label, *far, *limited, *within;
};
template <typename Vertex> DEVICE Room<Vertex> room_in(u64* words, u64 longest, u32 width) {
  const u64 vertices = 1ull << width;
  u64* const lightest = words + 2 * longest;
  u32* const limits = (u32*)(lightest + vertices);
  Vertex* const parent = (Vertex*)(limits + vertices);
  return {words, lightest, (Both<Vertex>*)(words + longest), limits, parent, parent + vertices, parent + 2 * vertices,
          parent + 3 * vertices, parent + 4 * vertices};
}

// The edges of a round: all edges of the range, then those that are listed. A record is the leading bits, then the
// edge's place in the range.
struct All { const u32* leading; };
struct Listed { const u64* records; };
DEVICE u64 record_at(const All& all, u64 at) { return (u64)all.leading[at] << 32 | at; }
DEVICE u64 record_at(const Listed& listed, u64 at) { return listed.records[at]; }

// The lighter of an edge `a` and of `b`, an edge or a limit. Both are leading bits, then one more than an edge's place
// in the round, or 0 for a limit, which counts as lighter than edges of the same leading bits; ~0 is heavier than all.
template <bool whole, typename Vertex, typename Edges>
DEVICE u64 lighter_of(const Range<Vertex>& range, const Edges& edges, u64 a, u64 b) {
  if (!whole || a >> 32 != b >> 32) return a < b ? a : b;
  if ((u32)b == 0 || a == ~0ull) return b;
  if (b == ~0ull) return a;  // no edge yet; keys beyond the window have leading bits of only ones, too
  const u64 mine = key_at(range.weights, range.position[(u32)record_at(edges, (u32)a - 1)]);
  const u64 theirs = key_at(range.weights, range.position[(u32)record_at(edges, (u32)b - 1)]);
  return mine < theirs || (mine == theirs && a < b) ? a : b;
}

// The lightest edge of each component, or its limit.
template <bool whole, typename Vertex, typename Edges>
DEVICE void find_lightest(const Range<Vertex>& range, const Edges& edges, const Both<Vertex>* ends, u64 length,
                          u64* lightest) {
  for (u64 j = 0; j < length; ++j) {
    const u32 a = first_of<Vertex>(ends[j]), b = second_of<Vertex>(ends[j]);
    const u64 mine = a == b ? ~0ull : record_at(edges, j) >> 32 << 32 | (j + 1);
    lightest[a] = lighter_of<whole>(range, edges, mine, lightest[a]);
    lightest[b] = lighter_of<whole>(range, edges, mine, lightest[b]);
  }
}

// Joins every component along its lightest edge, unless it has to wait, and numbers those that stay; returns how many.
template <typename Vertex, typename Edges>
DEVICE u32 join_lightest(const Edges& edges, const Both<Vertex>* ends, u64 components, const u64* lightest,
                         Vertex* parent, Vertex* label, u8* marks) {
  u32 stay = 0;
  for (u32 v = 0; v < components; ++v) {
    const u64 mine = lightest[v];
    // All ones for an edge, 0 for a limit or none: of these two no low half lies between 0 and 2^31. As arithmetic,
    // since compilers make a branch of a comparison here.
    const u32 low = (u32)mine, joins = 0u - (((0u - low) & ~low) >> 31), at = (low - 1) & joins;
    const u32 apart = (first_of<Vertex>(ends[at]) ^ second_of<Vertex>(ends[at])) & joins, other = v ^ apart;
    // Of two that join along one edge, the first stays.
    const u32 stays = (u32)(lightest[other] == mine) & (u32)(v <= other), up = v ^ (apart & (stays - 1));
    parent[v] = (Vertex)up;
    label[v] = (Vertex)stay;
    stay += up == v;
    marks[(u32)record_at(edges, at)] |= (u8)(joins & 1);
  }
  return stay;
}

// Each component's number after the joins: most roots are two steps away, the others are looked for one by one.
template <typename Vertex>
DEVICE void label_joined(u64 components, Vertex* parent, Vertex* label, Vertex* far) {
  u64 deep = 0;
  for (u64 v = 0; v < components; ++v) {
    const Vertex top = parent[parent[v]];
    parent[v] = top;
    label[v] = label[top];
    far[deep] = (Vertex)v;
    deep += parent[top] != top;
  }
  for (u64 k = 0; k < deep; ++k) {
    Vertex top = far[k];
    while (parent[top] != top) top = parent[top] = parent[parent[top]];
    label[far[k]] = label[top];
  }
}

// Lists the edges between two components, with these as their ends; how many there are.
template <typename Vertex, typename Edges>
DEVICE u64 list_between(const Edges& edges, const Both<Vertex>* ends, u64 length, const Vertex* label, u64* records,
                        Both<Vertex>* between) {
  u64 count = 0;
  for (u64 j = 0; j < length; ++j) {
    const u32 a = label[first_of<Vertex>(ends[j])], b = label[second_of<Vertex>(ends[j])];
    records[count] = record_at(edges, j);
    between[count] = both_of<Vertex>(a, b);
    count += a != b;
  }
  return count;
}

// Lists the vertices that have a limit; how many there are.
template <typename Vertex> DEVICE u64 list_limited(const u32* limit, u64 vertices, const Room<Vertex>& room) {
  u64 count = 0;
  for (u64 begin = 0; begin < vertices; begin += 8) {
    const u64 end = begin + 8 < vertices ? begin + 8 : vertices;
    u32 all = ~0u;
    for (u64 v = begin; v < end; ++v) all &= limit[v];
    if (all == ~0u) continue;
    for (u64 v = begin; v < end; ++v) {
      room.limited[count] = room.within[count] = (Vertex)v;
      room.limits[count] = limit[v];
      count += limit[v] != ~0u;
    }
  }
  return count;
}

// One round; how many edges it leaves between how many components.
template <bool whole, typename Vertex, typename Edges>
DEVICE u64 solve_round(const Range<Vertex>& range, const Edges& edges, const Both<Vertex>* ends, u64 length,
                       u64 limited, const Room<Vertex>& room, u64* components) {
  for (u64 v = 0; v < *components; ++v) room.lightest[v] = ~0ull;
  for (u64 k = 0; k < limited; ++k) {
    const u64 mine = (u64)room.limits[k] << 32;
    u64* const best = &room.lightest[room.within[k]];
    *best = mine < *best ? mine : *best;
  }
  find_lightest<whole>(range, edges, ends, length, room.lightest);
  const u32 stay = join_lightest(edges, ends, *components, room.lightest, room.parent, room.label, range.marks);
  label_joined(*components, room.parent, room.label, room.far);
  for (u64 k = 0; k < limited; ++k) room.within[k] = room.label[room.within[k]];
  *components = stay;
  return list_between(edges, ends, length, room.label, room.records, room.between);
}

// Contracts a range, and returns the number of its components. Edges of the forest are marked 1, edges that are put off 2:
// the ends and leading bits of the latter move to the front. A vertex with a limit gets its component instead.
template <bool whole, typename Vertex> DEVICE u64 solve_range(const Range<Vertex>& range, const Room<Vertex>& room) {
  for (u64 j = 0; j < range.edges; ++j) range.marks[j] = 0;
  const u64 limited = list_limited(range.limit, range.vertices, room);
  u64 components = range.vertices, before = components, left = range.edges;
  if (left) left = solve_round<whole>(range, All{range.leading}, range.ends, left, limited, room, &components);
  // Another round pays while the last one has joined more than a sixteenth of what is left (measured on roads).
  while (left && (before - components) * 16 > left + components) {
    before = components;
    left = solve_round<whole>(range, Listed{room.records}, room.between, left, limited, room, &components);
  }
  for (u64 j = 0; j < left; ++j) {
    range.marks[(u32)room.records[j]] = 2;
    range.ends[j] = room.between[j];
    range.leading[j] = (u32)(room.records[j] >> 32);
  }
  for (u64 k = 0; k < limited; ++k) range.limit[room.limited[k]] = room.within[k];
  return components;
}

template <typename Vertex>
DEVICE void solve_some(const u64* starts, u64 ranges, u64 vertices, u32 width, const Weights& weights, const u32* position,
                       u32* leading, Both<Vertex>* ends, const Room<Vertex>& room, u32* limit, u8* marks,
                       u64* components, u32* next) {
  for (u64 range = atomic_add(next, 1u); range < ranges; range = atomic_add(next, 1u)) {
    if (STOPPED_AT(0)) return;
    const u64 from = starts[range], begin = range << width, rest = vertices - begin, most = 1ull << width;
    const Range<Vertex> own = {leading + from, position ? position + from : 0, weights, ends + from, marks + from,
                               starts[range + 1] - from, rest < most ? rest : most, limit + begin};
    components[range] = position ? solve_range<true>(own, room) : solve_range<false>(own, room);
  }
}

// Each index is a worker that takes one range after the other, with room of its own: two words for each edge of the
// longest range, and for each vertex three, or five where a vertex takes four bytes.
HOST_KERNEL(solve_ranges, (const u64* starts, u64 ranges, u64 vertices, u32 width, const u64* bits, u64 flip, u32 type,
                           const u32* position, u32* leading, u32* narrow, u64* wide, u64 longest, u64* room,
                           u32* limit, u8* marks, u64* components, u32* next)) {
  u64* const own = room + i * (2 * longest + ((narrow ? 3ull : 5ull) << width));
  const Weights weights = {bits, flip, type};
  if (narrow)
    solve_some<u16>(starts, ranges, vertices, width, weights, position, leading, narrow,
                    room_in<u16>(own, longest, width), limit, marks, components, next);
  else
    solve_some<u32>(starts, ranges, vertices, width, weights, position, leading, wide,
                    room_in<u32>(own, longest, width), limit, marks, components, next);
} END
