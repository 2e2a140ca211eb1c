import { publicMethods, unserved, type MethodName, type MethodSpec } from '@switchyard/contracts';
import type { Route } from './route-doc.ts';

/** Renders a Markdown description of the gateway for language models: how to call it, all routes, and all implemented methods. */
export function renderLlmsText(routes: readonly Route[], { url }: { url: string }): string {
  const documented = routes.flatMap(({ verb, path, doc }) =>
    doc === undefined ? [] : [`- \`${verb} ${path.replaceAll(/:(\w+)/g, '{$1}')}\`: ${doc.summary}`],
  );
  const served = [...publicMethods.values()]
    .filter(({ name }) => !unserved.has(name as MethodName))
    .map(({ name, scope, spec }) => `- \`${name}\` (scope ${scope}): ${(spec as MethodSpec).summary}`);
  return `# Switchyard

> An agent gateway that runs turns and stores sessions, configuration and memory. All routes except probes, webhooks and the dashboard require \`Authorization: Bearer TOKEN\`.

Call methods with JSON-RPC 2.0: \`POST ${url}/rpc\`, or one message per frame on the WebSocket \`/ws\`.

    curl ${url}/rpc -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
      -d '{"jsonrpc":"2.0","id":1,"method":"agent.execute","params":{"message":"Hello"}}'

Clients of the OpenAI API use the base URL \`${url}/v1\` and the token as API key.

## Documents

- [OpenRPC](${url}/openrpc.json): every method with its params, result, errors and examples
- [OpenAPI](${url}/openapi.json): every route with its query, body and responses

## Routes

${documented.join('\n')}

## Methods

${served.sort().join('\n')}
`;
}
