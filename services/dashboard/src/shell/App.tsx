import { QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { useState, useSyncExternalStore } from 'react';
import { getToken, onTokenChange, signIn } from '../session/browser-token.ts';
import { getRetryAfterMs, getRetryDelay, isTransient, isUnanswered } from '../session/recovery.ts';
import { router } from './router.tsx';

/** Fresh for a while, because events invalidate what changes. Only a failed read is repeated, and no more after a sign-out. */
const cache = new QueryClient({
  queryCache: new QueryCache({
    // The readiness tells which service it is, on all pages that need it.
    onError: (error) => isUnanswered(error) && void cache.invalidateQueries({ queryKey: ['readiness'] }),
  }),
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      retry: (failures, error) => failures < 1 && isTransient(error) && getRetryAfterMs(error) === undefined,
      retryDelay: 500,
      refetchOnWindowFocus: true,
      refetchOnReconnect: 'always',
      refetchInterval: ({ state: { error, errorUpdateCount } }) =>
        error === null ? false : getRetryDelay(error, errorUpdateCount, getToken() !== undefined),
    },
  },
});

/** The pages. Without a token a dialog covers them, which keeps what was typed. */
export function App({ signInFailure }: { signInFailure: string | undefined }) {
  const token = useSyncExternalStore(onTokenChange, getToken);
  const [hasSignedIn, setHasSignedIn] = useState(token !== undefined);
  if (token !== undefined && !hasSignedIn) setHasSignedIn(true);
  return (
    <QueryClientProvider client={cache}>
      {hasSignedIn && <RouterProvider router={router} />}
      {token === undefined && <SignIn failure={signInFailure} again={hasSignedIn} />}
    </QueryClientProvider>
  );
}

function SignIn({ failure, again }: { failure: string | undefined; again: boolean }) {
  const [text, setText] = useState('');
  const [shown, setShown] = useState(failure);
  const submit = async (): Promise<void> => {
    await signIn(text).then(
      () => cache.invalidateQueries(),
      (error: Error) => setShown(error.message),
    );
  };
  return (
    <main className="sign-in" aria-label="Sign in">
      <h1>Switchyard</h1>
      {again && <p role="alert">The token of this browser expired or was revoked. Sign in again; what you typed is kept.</p>}
      <p>
        Run <code>switchyard dashboard</code> where the server runs, and open the link or paste it here.
      </p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <label>
          Link <input value={text} onChange={(event) => setText(event.target.value)} autoComplete="off" />
        </label>
        {shown && <p role="alert">{shown}</p>}
        <button type="submit">Sign in</button>
      </form>
    </main>
  );
}
