import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { contracts, ServiceError, type ConfigurationPatch, type Principal } from '@switchyard/contracts';
import { mapHosts } from '@switchyard/egress/testing';
import { resolveSecrets, testService, type TestService } from '@switchyard/testkit';
import { media } from './service.ts';

interface MediaOptions {
  as?: Principal;
  settings?: ConfigurationPatch;
  data?: string;
  env?: Readonly<Record<string, string>>;
  /** Provider keys by the names of their secrets. */
  secrets?: Readonly<Record<string, string>>;
  /** Files of the workspace by path; without it no workspace service runs. */
  files?: Readonly<Record<string, Uint8Array>>;
}

/** Starts the media service with doubles of the services that it calls. */
export async function testMedia({ secrets = {}, files, ...options }: MediaOptions = {}): Promise<TestService> {
  return testService(media, {
    ...options,
    async prepare(host) {
      const keeper = await host.connect('secrets');
      await keeper.serve(contracts.secrets, { 'secrets.resolve': resolveSecrets(secrets) }, { version: '0.0.0' });
      if (files === undefined) return;
      const workspace = await host.connect('workspace');
      await workspace.serve(contracts.workspace, { 'files.read': readFrom(files) }, { version: '0.0.0' });
    },
  });
}

function readFrom(files: Readonly<Record<string, Uint8Array>>) {
  return ({ path }: { path: string }) => {
    const bytes = files[path];
    if (bytes === undefined) throw new ServiceError('NOT_FOUND', `no file ${path}`);
    return { content: Buffer.from(bytes).toString('base64'), sizeBytes: bytes.length };
  };
}

export interface Outside extends AsyncDisposable {
  port: number;
  /** The paths that were requested, with their headers. */
  requests: { path: string; headers: Record<string, unknown> }[];
}

/** Serves these hosts on this machine until it is disposed. They pass the same address checks as public hosts. */
export async function serveOutside(hosts: readonly string[], handle: RequestListener): Promise<Outside> {
  const requests: Outside['requests'] = [];
  const server = createServer((request, response) => {
    requests.push({ path: request.url ?? '', headers: request.headers });
    response.setHeader('connection', 'close');
    handle(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const mapped = mapHosts(Object.fromEntries(hosts.map((host) => [host, { port }])));
  return {
    port,
    requests,
    async [Symbol.asyncDispose]() {
      mapped[Symbol.dispose]();
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Answers each path with these bytes, and 404 otherwise. Types are wrong on purpose: only bytes decide. */
export function serveFiles(files: Readonly<Record<string, string | Uint8Array>>): RequestListener {
  return ({ url = '' }, response) => {
    const file = files[url];
    response.writeHead(file === undefined ? 404 : 200, { 'content-type': 'application/octet-stream' }).end(file ?? 'not here');
  };
}
