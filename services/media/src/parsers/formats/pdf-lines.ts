/** Share of the font size that separates two words on a line. */
const WORD_GAP = 0.18;
/** Share of the font size by which a piece starts before the end of the last one, if it is no continuation of it. */
const OVERLAP = 1;
const LINE_GAP = 0.5;
const PARAGRAPH_GAP = 1.8;
/** The cosine of the largest angle between pieces of one line. */
const SAME_DIRECTION = 0.99;

export interface TextItem {
  str: string;
  width: number;
  height: number;
  transform: number[];
  hasEOL: boolean;
}

/** Joins the pieces of a page in the order of the document. Their places separate words, lines and paragraphs. */
export function joinItems(items: readonly TextItem[]): string {
  let text = '';
  let last: TextItem | undefined;
  for (const item of items) {
    if (last !== undefined && item.str !== '') text += separate(last, item, text);
    text += item.str;
    if (item.hasEOL && !text.endsWith('\n')) text += '\n';
    if (item.str !== '') last = item;
  }
  return text
    .replaceAll(/[ \t]+\n/g, '\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();
}

function separate(last: TextItem, item: TextItem, text: string): string {
  const size = Math.max(item.height, last.height, 1);
  const { along, across } = measureMove(last, item);
  if (across > size * LINE_GAP) {
    const missing = across > size * PARAGRAPH_GAP ? '\n\n' : '\n';
    return text.endsWith(missing) ? '' : text.endsWith('\n') ? missing.slice(1) : missing;
  }
  const gap = along - last.width;
  const isApart = gap > size * WORD_GAP || gap < -size * OVERLAP;
  return isApart && !/\s$/.test(text) && !item.str.startsWith(' ') ? ' ' : '';
}

/** The distance between the starts of two pieces, along their line and across it. Lines may run in any direction. */
function measureMove(last: TextItem, item: TextItem): { along: number; across: number } {
  const [cos, sin] = getDirection(item);
  const [lastCos, lastSin] = getDirection(last);
  if (cos * lastCos + sin * lastSin < SAME_DIRECTION) return { along: 0, across: Infinity };
  const [, , , , lastX = 0, lastY = 0] = last.transform;
  const [, , , , x = 0, y = 0] = item.transform;
  const [moveX, moveY] = [x - lastX, y - lastY];
  return { along: moveX * cos + moveY * sin, across: Math.abs(moveY * cos - moveX * sin) };
}

function getDirection({ transform: [a = 0, b = 0] }: TextItem): [cos: number, sin: number] {
  const length = Math.hypot(a, b);
  return length === 0 ? [1, 0] : [a / length, b / length];
}
