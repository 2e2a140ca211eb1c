import { AUTHORIZATION, Notations, quote } from './Notations.tsx';

interface CopyRouteProps {
  /** The path with its query. */
  path: string;
  /** The same read with the client or `fetch`. */
  typeScript: string;
  /** The command that prints the same records, if there is one. */
  command?: string;
}

/** Copies the request behind a view whose route is not a method, so that it has no notation as JSON-RPC. */
export function CopyRoute({ path, typeScript, command }: CopyRouteProps) {
  const notations = {
    curl: `curl -sN ${quote(location.origin + path)} ${AUTHORIZATION}`,
    TypeScript: typeScript,
    ...(command === undefined ? {} : { command }),
  };
  return <Notations notations={notations} />;
}
