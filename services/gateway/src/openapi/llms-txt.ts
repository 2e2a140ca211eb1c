import { publicMethods, unserved, type MethodName, type MethodSpec } from '@switchyard/contracts';
import type { Route } from './route-doc.ts';

/** Renders a Markdown description of the gateway for language models: how to call it, all routes, and all implemented methods. */
export function llmsText(routes: readonly Route[], { url }: { url: string }): string {
  const documented = routes.flatMap(({ verb, path, doc }) =>
    doc === undefined ? [] : [`- \`${verb} ${path.replaceAll(/:(\w+)/g, '{$1}')}\`: ${doc.summary}`],
  );
  const served = [...publicMethods.values()]
    .filter(({ name }) => !unserved.has(name as MethodName))
    .map(({ name, scope, spec }) => `- \`${name}\` (scope ${scope}): ${(spec as MethodSpec).summary}`);
  return `# Switchyard

> A gateway in front of agents: it runs turns and keeps sessions, configuration and memory. Everything below needs \`Authorization: Bearer TOKEN\`, but for the probes.

JSON-RPC 2.0 is \`POST ${url}/rpc\`, or one message a frame over the WebSocket \`/ws\`:

    curl ${url}/rpc -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
      -d '{"jsonrpc":"2.0","id":1,"method":"agent.execute","params":{"message":"Hello"}}'

Clients of the chat-completions protocol take \`${url}/v1\` as their base URL and the token as their key.

## Documents

- [OpenRPC](${url}/openrpc.json): every method with its params, result, errors and examples
- [OpenAPI](${url}/openapi.json): every route with its query, body and answers

## Routes

${documented.join('\n')}

## Methods

${served.sort().join('\n')}
`;
}
