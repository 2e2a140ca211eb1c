/** Decodes base64, standard or URL-safe, with or without padding and white space; undefined for any other text. */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  const letters = text.replaceAll(/\s+/g, '').replace(/={1,2}$/, '');
  if (letters === '' || letters.length % 4 === 1 || /[^A-Za-z0-9+/_-]/.test(letters)) return undefined;
  return new Uint8Array(Buffer.from(letters, 'base64'));
}
