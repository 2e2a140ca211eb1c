const FINAL_TEXT = 0x81;
/** Longer ones say their length in two bytes, or in eight. */
const SHORT = 125;
const MEDIUM = 0xffff;

/**
 * A message as it stands on the wire: a text in one frame, unmasked as a server sends it. The same bytes for every client. A string
 * has a character for each byte.
 */
export function textFrame(message: Uint8Array | string): Buffer {
  const { length } = message;
  const headerLength = length <= SHORT ? 2 : length <= MEDIUM ? 4 : 10;
  const frame = Buffer.allocUnsafe(headerLength + length);
  frame[0] = FINAL_TEXT;
  if (headerLength === 2) frame[1] = length;
  else if (headerLength === 4) {
    frame[1] = 126;
    frame.writeUInt16BE(length, 2);
  } else {
    frame[1] = 127;
    frame.writeBigUInt64BE(BigInt(length), 2);
  }
  if (typeof message === 'string') frame.write(message, headerLength, 'latin1');
  else frame.set(message, headerLength);
  return frame;
}
