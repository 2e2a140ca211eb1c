import type { Sections } from '@switchyard/contracts';

export type SectionName = keyof Sections & string;

/** The effective configuration: defaults < files < stored versions < environment. */
export interface Settings<K extends SectionName> {
  /** One frozen object per revision: what is read together belongs together. */
  readonly current: Readonly<Pick<Sections, K>>;
  /** Called after each change; returns a function that stops it. */
  onChange(listener: (current: Readonly<Pick<Sections, K>>) => void): () => void;
}
