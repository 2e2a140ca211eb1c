import PostalMime, { type Address } from 'postal-mime';
import type { Extracted } from '../protocol/extracted.ts';
import { htmlToMarkdown, parseHtmlText } from '../text/html-to-markdown.ts';

const MAX_NESTING = 20;
const MAX_HEADER_BYTES = 256 * 1024;

/** A message: sender, recipients, subject, text, and the names of its attachments, which are not opened. */
export async function parseMail(bytes: Uint8Array<ArrayBuffer>): Promise<Extracted> {
  const mail = await PostalMime.parse(bytes, { maxNestingDepth: MAX_NESTING, maxHeadersSize: MAX_HEADER_BYTES });
  const head = [
    ['From', mail.from === undefined ? '' : formatAddress(mail.from)],
    ['To', (mail.to ?? []).map(formatAddress).join(', ')],
    ['Cc', (mail.cc ?? []).map(formatAddress).join(', ')],
    ['Date', mail.date ?? ''],
    ['Attachments', mail.attachments.map(({ filename }) => filename ?? 'unnamed').join(', ')],
  ].flatMap(([name, value]) => (value === '' ? [] : [`${name}: ${value}`]));
  const body = mail.text?.trim() || (mail.html === undefined ? '' : htmlToMarkdown(parseHtmlText(mail.html).body));
  const title = mail.subject?.trim() ?? '';
  const heading = title === '' ? [] : [`# ${title}`];
  return { text: [...heading, head.join('\n'), body].filter((part) => part !== '').join('\n\n'), ...(title === '' ? {} : { title }) };
}

function formatAddress({ name, address, group }: Address): string {
  if (group !== undefined) return `${name}: ${group.map(formatAddress).join(', ')}`;
  return name === '' || name === address ? (address ?? '') : `${name} <${address ?? ''}>`;
}
