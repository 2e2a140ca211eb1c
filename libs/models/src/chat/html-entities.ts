const NAMED: Readonly<Record<string, string>> = { quot: '"', amp: '&', lt: '<', gt: '>', apos: "'" };
const ENTITY = /&(?:(quot|amp|lt|gt|apos)|#([0-9]{1,7})|#x([0-9a-f]{1,6}));/gi;
const LAST_CODE_POINT = 0x10ffff;

/** What a text says whose writer escaped it as if it stood in a page. Each entity is read once, so `&amp;lt;` is `&lt;`. */
export function plainText(text: string): string {
  return text.replaceAll(ENTITY, (whole, name?: string, decimal?: string, hexadecimal?: string) => {
    if (name !== undefined) return NAMED[name.toLowerCase()] ?? whole;
    const code = decimal === undefined ? parseInt(hexadecimal ?? '', 16) : Number(decimal);
    return code <= LAST_CODE_POINT ? String.fromCodePoint(code) : whole;
  });
}
