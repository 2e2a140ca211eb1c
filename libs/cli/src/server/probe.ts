import { systemCode } from './rpc-failure.ts';
import { parseJson } from '../output/json-values.ts';

const PATIENCE_MS = 3_000;

export type Probe = { answered: true; status: number; body: unknown } | { answered: false; why: string };

/** Requests a health address of the server. No token is needed; with one, `/readyz` returns more. */
export async function probe(url: string, path: string, token?: string): Promise<Probe> {
  try {
    const response = await fetch(new URL(path, url.endsWith('/') ? url : `${url}/`), {
      signal: AbortSignal.timeout(PATIENCE_MS),
      redirect: 'manual',
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    });
    return { answered: true, status: response.status, body: parseJson(await response.text()) };
  } catch (error) {
    const silent = error instanceof Error && error.name === 'TimeoutError';
    return { answered: false, why: silent ? `no answer in ${PATIENCE_MS / 1000} s` : (systemCode(error) ?? 'no connection') };
  }
}
