import type { MethodName } from '@switchyard/contracts';
import type { ComponentType } from 'react';

export const GROUPS = ['Operate', 'Configure', 'Inspect'] as const;

/** One page of the dashboard. The router, the navigation, the palette and the list of used methods are derived from it. */
export interface Page {
  path: `/${string}`;
  title: string;
  group: (typeof GROUPS)[number];
  /** Position in the navigation, ascending. */
  order: number;
  /** The page cannot show anything without these methods. */
  needs: readonly MethodName[];
  /** Methods of actions and details. */
  wants?: readonly MethodName[];
  /** Loads the code of the page on its first visit. */
  load: () => Promise<ComponentType>;
}
