import { dateTime, relative } from '../../text/text';

/** Shows an age, and the exact time beside it. A custom resource may hold any text in place of a time; it is shown unchanged. */
export function Age({ since }: { since: string | undefined }) {
  if (!since) return null;
  if (Number.isNaN(Date.parse(since))) return since;
  return (
    <time dateTime={since} title={dateTime(since)}>
      {relative(since)}
    </time>
  );
}
