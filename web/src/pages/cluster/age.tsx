import { dateTime, relative } from '../../text/text';

/** How long ago; the exact time beside it. A custom resource may hold any text in place of a time, which is shown as it is. */
export function Age({ since }: { since: string | undefined }) {
  if (!since) return null;
  if (Number.isNaN(Date.parse(since))) return since;
  return (
    <time dateTime={since} title={dateTime(since)}>
      {relative(since)}
    </time>
  );
}
