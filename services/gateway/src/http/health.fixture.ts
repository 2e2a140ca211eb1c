import type { ServicePresence } from '@switchyard/contracts';

export interface Ready {
  status: string;
  dependencies: Record<string, { ready: boolean; reason?: string }>;
  services?: ServicePresence[];
}

/** Reads the readiness of a gateway. */
export async function readyz(url: string, token?: string): Promise<{ code: number; body: Ready }> {
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const response = await fetch(`${url}/readyz`, { headers });
  return { code: response.status, body: (await response.json()) as Ready };
}
