import { useNavigate, useSearch } from '@tanstack/react-router';

/** A text of the address, such as a filter. The address is the state, so that a link opens the same view. */
export function useSearchText(name: string): [value: string, set: (value: string) => void] {
  const search: Readonly<Record<string, unknown>> = useSearch({ strict: false });
  const navigate = useNavigate();
  const value = search[name];
  return [
    typeof value === 'string' || typeof value === 'number' ? String(value) : '',
    (next) => {
      const { [name]: _previous, ...rest } = search;
      void navigate({ to: '.', search: next === '' ? rest : { ...rest, [name]: next }, replace: true });
    },
  ];
}
