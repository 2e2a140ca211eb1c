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
      <NextSteps steps={nextSteps} />
    </>
  );
}

/** What an operator can do next. */
export function NextSteps({ steps }: { steps: readonly string[] }) {
  if (steps.length === 0) return undefined;
  return (
    <>
      <p>What to do next:</p>
      <ol>
        {steps.map((step) => (
          <li key={step}>{step}</li>
        ))}
      </ol>
    </>
  );
}
