import type { Subject } from '../subject.ts';

/** Concurrent requests; each waits until all gateways know its token. */
const AT_ONCE = 128;

/** Creates tokens over the API and returns their secrets by client name. */
export async function makeTokens({ url, headers }: Subject, count: number): Promise<Map<string, string>> {
  const tokens = new Map<string, string>();
  const ids = Array.from({ length: count }, (_, n) => `storm-${n}`).values();
  const making = Array.from({ length: AT_ONCE }, async () => {
    for (const id of ids) tokens.set(id, await makeToken(id));
  });
  await Promise.all(making);
  return tokens;

  async function makeToken(id: string): Promise<string> {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tokens.create', params: { id, scopes: ['rpc', 'admin'] } });
    const response = await fetch(`${url}/rpc`, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body });
    const answer = (await response.json()) as { result?: { secret: string }; error?: { message: string } };
    if (answer.result === undefined) throw new Error(`no token ${id}: ${answer.error?.message ?? 'no answer'}`);
    return answer.result.secret;
  }
}
