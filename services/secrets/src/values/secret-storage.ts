import type { SecretListItem } from '@switchyard/contracts';

export type Listed = SecretListItem;

/** Where values are kept that `env.set` was told. What it gives stays in this service, except for who may have it. */
export interface Values {
  readonly storage: Listed['source'];
  get(name: string): Promise<string | undefined>;
  /** What others see of it is published with the write, or right after it. */
  set(name: string, value: string): Promise<'created' | 'updated'>;
  /** Every name, without its value. */
  list(): Promise<Listed[]>;
}
