import type { MethodName } from '@switchyard/contracts';
import { useState } from 'react';

/** Copies the call behind a view in four notations. The token is named as a variable and never copied. */
export function CopyAs({ method, params }: { method: MethodName; params: Readonly<Record<string, unknown>> }) {
  const [copied, setCopied] = useState('');
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
  const notations = {
    'JSON-RPC': body,
    curl: `curl -s ${location.origin}/rpc -H "authorization: Bearer $(switchyard token)" -H 'content-type: application/json' -d ${quote(body)}`,
    TypeScript: `await client.call(${JSON.stringify(method)}, ${JSON.stringify(params)});`,
    command: [
      'switchyard rpc',
      method,
      ...Object.entries(params).map(([key, value]) => quote(`${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`)),
    ].join(' '),
  };
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
