import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

interface PageLinkProps {
  /** The path of a page. */
  to: `/${string}`;
  /** What the page shows. */
  search: Readonly<Record<string, string>>;
  children: ReactNode;
}

/** A link to a page with its state in the address. */
export function PageLink({ to, search, children }: PageLinkProps) {
  return (
    <Link to={to} search={search}>
      {children}
    </Link>
  );
}
