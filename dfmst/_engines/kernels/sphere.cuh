// Points on the earth as a sphere: degrees become coordinates in space, and chords become arcs, both in meters. The steps
// are additions, products, quotients and roots only, so that every engine computes the same floats.

const f64 EARTH = 6371008.8;  // mean radius in meters (IUGG)
const f64 HALF_TURN = 3.14159265358979323846;

// Sine and cosine of an angle in degrees, by their series around the nearest multiple of 90. Multiples of 90 are exact,
// and angles that differ by 360 have the same values.
DEVICE void turn(f64 degrees, f64* sine, f64* cosine) {
  const i64 quarter = (i64)(degrees / 90 + (degrees < 0 ? -0.5 : 0.5));
  const f64 x = (degrees - 90 * (f64)quarter) * (HALF_TURN / 180), square = x * x;
  f64 odd = 0, even = 0;
  for (u32 k = 16; k; k -= 2) {
    odd = -(1 + odd) * square / (f64)(k * (k + 1));
    even = -(1 + even) * square / (f64)(k * (k - 1));
  }
  const f64 s = x + x * odd, c = 1 + even;
  const u32 at = (u32)quarter & 3;
  *sine = at == 0 ? s : at == 1 ? c : at == 2 ? -s : -c;
  *cosine = at == 0 ? c : at == 1 ? -s : at == 2 ? -c : s;
}

// Coordinates in space, axis by axis, of latitudes and longitudes in degrees.
KERNEL(place_on_sphere, (const f64* latitude, const f64* longitude, u64 length, f64* column)) {
  f64 up, out, sine, cosine;
  turn(latitude[i], &up, &out);
  turn(longitude[i], &sine, &cosine);
  column[i] = EARTH * (out * cosine);
  column[length + i] = EARTH * (out * sine);
  column[2 * length + i] = EARTH * up;
} END

// What the arcsine of a sine up to the root of 1/2 exceeds it by.
DEVICE f64 excess_of_arc(f64 sine) {
  const f64 square = sine * sine;
  f64 sum = 0, term = sine;
  for (u32 k = 1; k < 120; k += 2) {
    term *= square * (f64)k / (f64)(k + 1);
    const f64 more = sum + term / (f64)(k + 2);
    if (more == sum) break;
    sum = more;
  }
  return sum;
}

// Arcs of chords of the sphere. The arc grows with the chord.
KERNEL(arcs_of_chords, (f64* chord)) {
  const f64 half = chord[i] / (2 * EARTH), rest = (1 - half) * (1 + half);
  if (rest >= 0.5) chord[i] += 2 * EARTH * excess_of_arc(half);
  else {
    const f64 other = rest > 0 ? square_root(rest) : 0;
    chord[i] = 2 * EARTH * (HALF_TURN / 2 - (other + excess_of_arc(other)));
  }
} END
