import { useState } from 'react';
import { download } from './download.ts';
import { formatCount } from './format.ts';
import { Markdown } from './markdown/Markdown.tsx';

/** Characters of a text that are shown at first. A browser lays out a text of some megabytes for seconds. */
const PREVIEW_CHARS = 10_000;
/** A longer text is not shown whole, because it would stop the page. It can be saved. */
const MAX_SHOWN_CHARS = 1_000_000;

interface LongTextProps {
  text: string;
  /** Renders Markdown. A text that is longer than the preview is shown as it is. */
  isMarkdown?: boolean;
}

/** Text from outside. A long one begins with a preview, which refers to the whole text. */
export function LongText({ text, isMarkdown = false }: LongTextProps) {
  const [isWhole, setIsWhole] = useState(false);
  const isCut = !isWhole && text.length > PREVIEW_CHARS;
  if (isMarkdown && text.length <= PREVIEW_CHARS) return <Markdown text={text} />;
  return (
    <>
      <p className="text" dir="auto">
        {isCut ? `${text.slice(0, PREVIEW_CHARS).toWellFormed()} …` : text}
      </p>
      {isCut && (
        <p className="tools">
          {text.length <= MAX_SHOWN_CHARS && (
            <button type="button" onClick={() => setIsWhole(true)}>
              Show all {formatCount(text.length)} characters
            </button>
          )}
          <button type="button" onClick={() => download('message.txt', text)}>
            Save all {formatCount(text.length)} characters
          </button>
        </p>
      )}
    </>
  );
}
