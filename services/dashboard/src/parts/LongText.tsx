import { useState } from 'react';
import { formatCount } from './format.ts';

/** Characters of a text that are shown at first. A browser lays out a text of some megabytes for seconds. */
const PREVIEW_CHARS = 10_000;

/** Text from outside as text. A long one begins with a preview. */
export function LongText({ text }: { text: string }) {
  const [isWhole, setIsWhole] = useState(false);
  const isCut = !isWhole && text.length > PREVIEW_CHARS;
  return (
    <>
      <p className="text" dir="auto">
        {isCut ? text.slice(0, PREVIEW_CHARS) : text}
      </p>
      {isCut && (
        <button type="button" onClick={() => setIsWhole(true)}>
          Show all {formatCount(text.length)} characters
        </button>
      )}
    </>
  );
}
