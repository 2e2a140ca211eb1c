import type { Client } from '@switchyard/client';
import type { Invocation } from '../command.ts';

/** What `config` does with the words behind one of its own words. */
export type Verb = (client: Client, words: readonly string[], invocation: Pick<Invocation, 'flags' | 'output'>) => Promise<void>;
