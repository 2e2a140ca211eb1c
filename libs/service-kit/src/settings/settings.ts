import type { Sections } from '@switchyard/contracts';

export type SectionName = keyof Sections & string;

/** The effective configuration: defaults < files < stored versions < environment. */
export interface Settings<K extends SectionName> {
  /** One frozen object per revision, so that values read together are consistent. */
  readonly current: Readonly<Pick<Sections, K>>;
  /** Calls the listener after each change. Returns a function that unsubscribes it. */
  onChange(listener: (current: Readonly<Pick<Sections, K>>) => void): () => void;
}
