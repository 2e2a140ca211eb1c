import type { SecretListItem } from '@switchyard/contracts';

export type SecretListing = SecretListItem;

/** A storage for values of `env.set`. */
export interface SecretStorage {
  readonly storage: SecretListing['source'];
  get(name: string): Promise<string | undefined>;
  set(name: string, value: string): Promise<'created' | 'updated'>;
  /** All names, without values. */
  list(): Promise<SecretListing[]>;
}
