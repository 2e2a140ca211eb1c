import { lexer, type Token, type Tokens } from 'marked';
import { Fragment, useMemo, type ReactNode } from 'react';
import { readLink, readMediaPath } from './markdown-links.ts';
import { MediaPicture } from './MediaPicture.tsx';

/** Nested quotes and lists below this depth are shown as text. A text from outside could exhaust the stack otherwise. */
const MAX_DEPTH = 16;

/** Markdown of a text from outside. HTML stays text, links name their host, and pictures come from `/media` of this gateway only. */
export function Markdown({ text }: { text: string }) {
  const tokens = useMemo(() => parse(text), [text]);
  return (
    <div className="markdown" dir="auto">
      {tokens === undefined ? <p className="text">{text}</p> : renderTokens(tokens, 0)}
    </div>
  );
}

/** Returns undefined for a text that the parser cannot read. */
function parse(text: string): Token[] | undefined {
  try {
    return lexer(text, { gfm: true, breaks: true });
  } catch {
    return undefined;
  }
}

function renderTokens(tokens: readonly Token[] | undefined, depth: number): ReactNode {
  return tokens?.map((token, index) => <Fragment key={index}>{renderToken(token, depth + 1)}</Fragment>);
}

function renderToken(token: Token, depth: number): ReactNode {
  const render = depth > MAX_DEPTH ? undefined : RENDERERS[token.type];
  return render === undefined ? token.raw : render(token, depth);
}

type Renderer = (token: Tokens.Generic, depth: number) => ReactNode;

/** The known tokens. Every other one, such as HTML, is shown as it was written. */
const RENDERERS: Readonly<Partial<Record<string, Renderer>>> = {
  space: () => undefined,
  paragraph: ({ tokens }, depth) => <p>{renderTokens(tokens, depth)}</p>,
  // A heading of a message is no heading of the page.
  heading: ({ tokens }, depth) => (
    <p>
      <strong>{renderTokens(tokens, depth)}</strong>
    </p>
  ),
  code: ({ text }) => <pre>{text as string}</pre>,
  blockquote: ({ tokens }, depth) => <blockquote>{renderTokens(tokens, depth)}</blockquote>,
  list: (token, depth) => renderList(token as unknown as Tokens.List, depth),
  table: (token, depth) => renderTable(token as unknown as Tokens.Table, depth),
  hr: () => <hr />,
  text: ({ tokens, text }, depth) => (tokens === undefined ? (text as string) : renderTokens(tokens, depth)),
  escape: ({ text }) => text as string,
  strong: ({ tokens }, depth) => <strong>{renderTokens(tokens, depth)}</strong>,
  em: ({ tokens }, depth) => <em>{renderTokens(tokens, depth)}</em>,
  del: ({ tokens }, depth) => <del>{renderTokens(tokens, depth)}</del>,
  codespan: ({ text }) => <code>{text as string}</code>,
  br: () => <br />,
  link: ({ tokens, href, raw }, depth) => {
    const link = readLink(href as string);
    if (link === undefined) return raw;
    return (
      <>
        <a href={link.href} target="_blank" rel="noopener noreferrer">
          {renderTokens(tokens, depth)}
        </a>{' '}
        (<bdi>{link.host}</bdi>)
      </>
    );
  },
  image: ({ href, text, raw }) => {
    const path = readMediaPath(href as string, location.origin);
    return path === undefined ? raw : <MediaPicture path={path} description={text as string} />;
  },
};

function renderList({ ordered, start, items }: Tokens.List, depth: number): ReactNode {
  const rows = items.map(({ tokens }, index) => <li key={index}>{renderTokens(tokens, depth)}</li>);
  return ordered ? <ol start={start === '' ? 1 : start}>{rows}</ol> : <ul>{rows}</ul>;
}

function renderTable({ header, rows }: Tokens.Table, depth: number): ReactNode {
  return (
    <div className="scroller" tabIndex={0} role="region" aria-label="Table">
      <table>
        <thead>
          <tr>
            {header.map(({ tokens }, index) => (
              <th key={index} scope="col">
                {renderTokens(tokens, depth)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {row.map(({ tokens }, column) => (
                <td key={column}>{renderTokens(tokens, depth)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
