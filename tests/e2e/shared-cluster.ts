import { copyFile, writeFile } from 'node:fs/promises';
import { readSharedServers, tempDir, type SharedServers } from '@switchyard/testkit';
import type { Running } from './embedded.ts';

type SharedCluster = NonNullable<SharedServers['cluster']>;

const CLIENT = 'tester';

/** Returns undefined when the file runs without the test runner. */
export function sharedCluster(): SharedCluster | undefined {
  return readSharedServers()?.cluster;
}

/** A tenant of its own on the shared cluster, with a token of scope `*` and a data directory for the command. */
export async function openTenant({ url, token, data }: SharedCluster): Promise<Running> {
  const dir = await tempDir();
  const tenant = `suite-${crypto.randomUUID().slice(0, 8)}`;
  const response = await fetch(`${url}/rpc`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tokens.create', params: { id: CLIENT, scopes: ['*'], tenant } }),
  });
  const { result, error } = (await response.json()) as { result?: { secret: string }; error?: unknown };
  if (result === undefined) throw new Error(`no token on the shared cluster: ${JSON.stringify(error)}`);
  await writeFile(`${dir.path}/token`, `${result.secret}\n`, { mode: 0o600 });
  await copyFile(`${data}/run.json`, `${dir.path}/run.json`);
  return {
    url,
    token: result.secret,
    client: CLIENT,
    tenant,
    data: dir.path,
    get process(): never {
      throw new Error('the processes of the shared cluster belong to the test runner');
    },
    [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose](),
  };
}
