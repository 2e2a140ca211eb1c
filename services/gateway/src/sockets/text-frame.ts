const FINAL_TEXT = 0x81;
/** Longer ones say their length in two bytes, or in eight. */
const SHORT = 125;
const MEDIUM = 0xffff;

/** A message as it stands on the wire: a text in one frame, unmasked as a server sends it. The same bytes for every client. */
export function textFrame(message: Uint8Array): Buffer {
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
  frame.set(message, headerLength);
  return frame;
}

/** The same, of a text with a character for each byte, as such a text: no bytes are made before they are written. */
export function latin1Frame(message: string): string {
  const { length } = message;
  if (length <= SHORT) return String.fromCharCode(FINAL_TEXT, length) + message;
  if (length <= MEDIUM) return String.fromCharCode(FINAL_TEXT, 126, length >>> 8, length & 0xff) + message;
  return textFrame(Buffer.from(message, 'latin1')).toString('latin1');
}
