import {
  createClient,
  RpcError,
  type CallableName,
  type CallOptions,
  type CallParams,
  type CallResult,
  type Client,
} from '@switchyard/client';
import { getToken, onTokenChange, signOut } from './browser-token.ts';
import { RouteError } from './route-error.ts';

const CALL_TIMEOUT_MS = 30_000;

let current: { token: string; client: Client } | undefined;

/** Returns the client of the current token. All its calls end when the token changes. */
export function getClient(): Client {
  const token = getToken()?.token;
  if (token === undefined) throw new Error('Sign in to continue.');
  if (current?.token !== token) {
    current?.client.close();
    current = { token, client: createClient({ url: location.origin, token }) };
  }
  return current.client;
}

onTokenChange(() => {
  if (getToken()?.token === current?.token) return;
  current?.client.close();
  current = undefined;
});

/** Params are always passed, because the compiler cannot decide for an open method whether they are optional. */
interface OpenClient<N extends CallableName> {
  call(method: N, params: CallParams<N>, options: CallOptions): Promise<CallResult<N>>;
}

/** Calls a method. A refused token signs this browser out, so that no further call repeats it. */
export async function call<N extends CallableName>(
  method: N,
  params: CallParams<N>,
  signal?: AbortSignal,
  timeoutMs = CALL_TIMEOUT_MS,
): Promise<CallResult<N>> {
  const client = getClient() as OpenClient<N>;
  try {
    return await client.call(method, params, { timeoutMs, ...(signal === undefined ? {} : { signal }) });
  } catch (error) {
    if (isSignedOut(error)) signOut();
    throw error;
  }
}

/** Reads a public route as JSON. */
export async function read<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await request(path, signal);
  // A gateway that is not ready reports its services with 503.
  if (!response.ok && response.status !== 503) throw new RouteError(path.replace(/\?.*/, ''), response.status);
  return (await response.json()) as T;
}

/** Reads a public route as bytes. */
export async function readBlob(path: string, signal?: AbortSignal): Promise<Blob> {
  const response = await request(path, signal);
  if (!response.ok) throw new RouteError(path, response.status);
  return response.blob();
}

async function request(path: string, signal: AbortSignal | undefined): Promise<Response> {
  const headers = { authorization: `Bearer ${getToken()?.token ?? ''}` };
  const response = await fetch(path, { headers, ...(signal === undefined ? {} : { signal }) });
  if (response.status === 401) signOut();
  return response;
}

export function isSignedOut(error: unknown): boolean {
  return error instanceof RpcError && error.data.code === 'UNAUTHENTICATED';
}
