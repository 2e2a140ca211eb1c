const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** Three digits at a time: the largest power of 62 whose remainder, shifted by a 32-bit limb, is still an exact double. */
const CHUNK = 62 ** 3;
const LIMB = 2 ** 32;
const PAIRS: readonly string[] = Array.from({ length: 62 * 62 }, (_, n) => DIGITS.charAt(Math.floor(n / 62)) + DIGITS.charAt(n % 62));

/** The bytes as one big-endian number in base 62, left-padded with zeros to `width`; higher digits are cut off. */
export function encodeBase62(bytes: Uint8Array, width: number): string {
  const limbs = toLimbs(bytes);
  let text = '';
  let first = 0;
  while (text.length < width) {
    let rest = 0;
    for (let at = first; at < limbs.length; at++) {
      const value = rest * LIMB + (limbs[at] ?? 0);
      const quotient = Math.floor(value / CHUNK);
      limbs[at] = quotient;
      rest = value - quotient * CHUNK;
    }
    if (limbs[first] === 0) first++;
    const high = Math.floor(rest / 62);
    text = (PAIRS[high] ?? '') + DIGITS.charAt(rest - high * 62) + text;
  }
  return text.slice(-width);
}

function toLimbs(bytes: Uint8Array): Uint32Array {
  const limbs = new Uint32Array(Math.ceil(bytes.length / 4));
  let limb = limbs.length - 1;
  for (let end = bytes.length; end > 0; end -= 4) {
    limbs[limb--] = ((bytes[end - 4] ?? 0) << 24) | ((bytes[end - 3] ?? 0) << 16) | ((bytes[end - 2] ?? 0) << 8) | (bytes[end - 1] ?? 0);
  }
  return limbs;
}
