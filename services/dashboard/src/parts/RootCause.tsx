interface RootCauseProps {
  cause: { code: string; detail: string } | null | undefined;
  nextSteps: readonly string[];
}

/** The likely root cause of a problem, and what an operator can do next. */
export function RootCause({ cause, nextSteps }: RootCauseProps) {
  return (
    <>
      {cause && (
        <p>
          <strong>{cause.code}</strong>: {cause.detail}
        </p>
      )}
      {nextSteps.length > 0 && (
        <ol>
          {nextSteps.map((step) => (
            <li key={step}>{step}</li>
          ))}
        </ol>
      )}
    </>
  );
}
