import type { SecretListItem } from '@switchyard/contracts';

export type Listed = SecretListItem;

/** A storage for values of `env.set`. */
export interface Values {
  readonly storage: Listed['source'];
  get(name: string): Promise<string | undefined>;
  set(name: string, value: string): Promise<'created' | 'updated'>;
  /** All names, without values. */
  list(): Promise<Listed[]>;
}
