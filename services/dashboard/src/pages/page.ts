import type { MethodName } from '@switchyard/contracts';
import type { ComponentType } from 'react';

/** One page of the dashboard. The router, the navigation, the palette and the list of used methods are derived from it. */
export interface Page {
  path: string;
  title: string;
  group: 'Operate' | 'Configure' | 'Inspect';
  /** The page cannot show anything without these methods. */
  needs: readonly MethodName[];
  /** Methods of actions and details. */
  wants?: readonly MethodName[];
  /** Loads the code of the page on its first visit. */
  load: () => Promise<ComponentType>;
}
