import { useNavigate, useSearch } from '@tanstack/react-router';

/** A text of the address, such as a filter. The address is the state, so that a link opens the same view. */
export function useSearchText(name: string): [value: string, set: (value: string) => void] {
  const search: Readonly<Record<string, unknown>> = useSearch({ strict: false });
  const change = useSearchChange();
  const value = search[name];
  return [typeof value === 'string' || typeof value === 'number' ? String(value) : '', (next) => change({ [name]: next })];
}

/** Returns a function that replaces several texts of the address. An empty text is removed. */
export function useSearchChange(): (texts: Readonly<Record<string, string>>) => void {
  const search: Readonly<Record<string, unknown>> = useSearch({ strict: false });
  const navigate = useNavigate();
  return (texts) => {
    const next = Object.fromEntries(Object.entries({ ...search, ...texts }).filter(([, value]) => value !== ''));
    void navigate({ to: '.', search: next, replace: true });
  };
}
