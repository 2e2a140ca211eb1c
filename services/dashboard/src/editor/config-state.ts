import type { CallResult } from '@switchyard/client';
import { call } from '../session/client.ts';
import { isTree, type Tree } from './merge-patch.ts';

type Version = CallResult<'config.history'>['entries'][number];
type Origins = Extract<CallResult<'config.read'>, { sections: unknown }>['origins'];

/** The configuration in force with the version that it belongs to. */
export interface ConfigState {
  /** Undefined while no version is stored. */
  head: Version | undefined;
  config: Tree;
  origins: NonNullable<Origins>;
}

const MAX_READS = 5;

/** Reads the configuration and its version. It reads again if another operator writes in between, so that both belong together. */
export async function readConfigState(signal: AbortSignal): Promise<ConfigState> {
  let head = await readHead(signal);
  for (let reads = 0; reads < MAX_READS; reads += 1) {
    const result = await call('config.read', { origins: true }, signal);
    const after = await readHead(signal);
    if (after?.sha === head?.sha) {
      const config: unknown = result['config'];
      return { head, config: isTree(config) ? config : {}, origins: (result['origins'] ?? {}) as NonNullable<Origins> };
    }
    head = after;
  }
  throw new Error('The configuration changes all the time. Try again.');
}

async function readHead(signal: AbortSignal): Promise<Version | undefined> {
  const { entries } = await call('config.history', { limit: 1 }, signal);
  return entries[0];
}
