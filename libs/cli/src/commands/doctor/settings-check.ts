import type { Client } from '@switchyard/client';
import { isRpcError } from '../../server/rpc-failure.ts';
import { good, note, type Check } from './check.ts';

/** Reports settings without effect, with the file or variable that sets them. */
export async function checkSettings(client: Client, patience: { timeoutMs: number }): Promise<Check> {
  try {
    const { notInForce } = await client.call('gateway.status', {}, patience);
    if (notInForce === undefined) return note('settings', 'the server does not report unused settings');
    if (notInForce.length === 0) return good('settings', 'all configured settings are in use');
    const named = notInForce.map(({ path, from }) => `${path} (${from})`).join(', ');
    return note('settings', `accepted, but not used by any service yet: ${named}`);
  } catch (error) {
    if (isRpcError(error)) return note('settings', `not known: ${error.message}`);
    throw error;
  }
}
