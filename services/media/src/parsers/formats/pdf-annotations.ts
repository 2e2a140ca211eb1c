import { section } from './office-parts.ts';

const MAX_LINKS = 100;

interface Annotation {
  fieldName?: string;
  fieldValue?: unknown;
  contentsObj?: { str?: string };
  /** The author of a note. */
  titleObj?: { str?: string };
  /** The target of a link, if a viewer would open it. */
  url?: string;
  hidden?: boolean;
  password?: boolean;
}

/**
 * Values of form fields and texts of notes, which a viewer shows on the page, and targets of links that the text of the page does not name.
 * Passwords are left out.
 */
export function readAnnotations(annotations: readonly Annotation[], pageText: string): string[] {
  const visible = annotations.filter(({ hidden, password }) => hidden !== true && password !== true);
  const links = new Set(visible.flatMap(({ url }) => (isNamedLink(url, pageText) ? [url] : [])));
  return [...visible.flatMap(readFieldAndNote), ...section('Links', [...links].slice(0, MAX_LINKS))];
}

function readFieldAndNote({ fieldName, fieldValue, contentsObj, titleObj }: Annotation): string[] {
  const value = [fieldValue].flat().filter((one): one is string => typeof one === 'string' && one !== '' && one !== 'Off');
  const field = value.length === 0 ? [] : [fieldName ? `${fieldName}: ${value.join(', ')}` : value.join(', ')];
  const note = (contentsObj?.str ?? '').trim();
  const author = fieldName === undefined ? (titleObj?.str ?? '').trim() : '';
  return note === '' ? field : [...field, author === '' ? note : `${author}: ${note}`];
}

function isNamedLink(url: string | undefined, pageText: string): url is string {
  if (url === undefined || !/^(?:https?|mailto):/.test(url)) return false;
  const short = url.replace(/^(?:https?:\/\/|mailto:)/, '').replace(/\/$/, '');
  return !pageText.includes(short);
}
