import { DOMParser } from 'linkedom/worker';
import type { Extracted } from '../protocol/extracted.ts';
import { decodeText } from '../text/decode-text.ts';
import { withoutDtd } from '../text/xml.ts';

/** The texts, titles and descriptions of a drawing. */
export function parseSvg(bytes: Uint8Array): Extracted {
  const document = new DOMParser().parseFromString(withoutDtd(decodeText(bytes)), 'text/xml');
  const texts = [...document.querySelectorAll('title, desc, text')].map((element) =>
    (element.textContent ?? '').replaceAll(/\s+/g, ' ').trim(),
  );
  return { text: texts.filter((text) => text !== '').join('\n') };
}
