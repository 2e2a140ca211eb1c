import { useState } from 'react';

/** Buttons that copy texts, by their names. */
export function Notations({ notations }: { notations: Readonly<Record<string, string>> }) {
  const [copied, setCopied] = useState('');
  return (
    <p className="tools">
      <span>Copy as</span>
      {Object.entries(notations).map(([name, text]) => (
        <button key={name} type="button" onClick={() => void navigator.clipboard.writeText(text).then(() => setCopied(name))}>
          {name}
        </button>
      ))}
      <span role="status">{copied && `copied ${copied}`}</span>
    </p>
  );
}

/** Quotes a text for a shell. */
export const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** The header of a request in a shell. The token is named as a command and never copied. */
export const AUTHORIZATION = '-H "authorization: Bearer $(switchyard token)"';
