import type { MethodName } from '@switchyard/contracts';
import { AUTHORIZATION, Notations, quote } from './Notations.tsx';

/** Copies the call behind a view in four notations. */
export function CopyAs({ method, params }: { method: MethodName; params: Readonly<Record<string, unknown>> }) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const notations = {
    'JSON-RPC': body,
    curl: `curl -s ${location.origin}/rpc ${AUTHORIZATION} -H 'content-type: application/json' -d ${quote(body)}`,
    TypeScript: `await client.call(${JSON.stringify(method)}, ${JSON.stringify(params)});`,
    command: [
      'switchyard rpc',
      method,
      ...Object.entries(params).map(([key, value]) => quote(`${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`)),
    ].join(' '),
  };
  return <Notations notations={notations} />;
}
