import { contracts, publicMethods, unserved, type Callable, type Contract, type MethodName } from '@switchyard/contracts';

export function isServed({ name }: Callable): boolean {
  return !unserved.has(name as MethodName);
}

/** Services with at least one served method. The gateway answers its own methods. */
export const implementedServices: ReadonlySet<string> = new Set([...publicMethods.values()].filter(isServed).map(({ service }) => service));

/** Every declared event with its service, ordered by name. */
export function listEvents() {
  return (Object.values(contracts) as Contract[])
    .flatMap(({ service, events }) => Object.entries(events).map(([name, spec]) => ({ name, service, ...spec })))
    .toSorted((one, other) => (one.name < other.name ? -1 : 1));
}
