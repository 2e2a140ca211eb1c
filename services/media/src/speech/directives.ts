import { ServiceError } from '@switchyard/contracts';

/** A directive in a text: `[[tts]]` or `[[tts:voice=nova,format=mp3]]`. */
export interface SpeechDirective {
  voice?: string;
  provider?: string;
  format?: string;
  speed?: number;
}

export interface ParsedText {
  /** The text without its directives. Code is unchanged. */
  text: string;
  /** Present if the text has a directive. The last value of a key counts. */
  directive?: SpeechDirective;
}

const CODE = /(```[\s\S]*?(?:```|$)|`[^`\n]+`)/;
const MIN_SPEED = 0.25;
const MAX_SPEED = 4;

/** Parses and removes the directives of a text, outside of code. Throws if the pattern of the settings is no regular expression. */
export function parseDirectives(text: string, tagPattern: string): ParsedText {
  const pattern = compile(tagPattern);
  let directive: SpeechDirective | undefined;
  const parts = text.split(CODE).map((part, at) => {
    if (at % 2 === 1) return part;
    return part.replaceAll(pattern, (match) => {
      directive = { ...directive, ...parseOptions(match) };
      return '';
    });
  });
  const stripped =
    directive === undefined
      ? text
      : parts
          .join('')
          .replaceAll(/[ \t]{2,}/g, ' ')
          .trim();
  return { text: stripped, ...(directive === undefined ? {} : { directive }) };
}

function compile(pattern: string): RegExp {
  try {
    return new RegExp(pattern, 'gi');
  } catch {
    throw new ServiceError('FAILED_PRECONDITION', `tts.tagPattern is not a regular expression: ${pattern.slice(0, 100)}`, {
      details: { reason: 'INVALID_TAG_PATTERN' },
    });
  }
}

function parseOptions(match: string): SpeechDirective {
  const [, options = ''] = /:([\s\S]*?)\]*$/.exec(match) ?? [];
  const found: SpeechDirective = {};
  for (const option of options.split(',')) {
    const [key = '', value = ''] = option.split('=', 2).map((part) => part.trim());
    if (value === '') continue;
    if (key === 'voice' || key === 'provider' || key === 'format') found[key] = value;
    const speed = key === 'speed' ? Number(value) : Number.NaN;
    if (speed >= MIN_SPEED && speed <= MAX_SPEED) found.speed = speed;
  }
  return found;
}
