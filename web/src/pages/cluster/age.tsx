import { dateTime, relative } from '../../text/text';

/** How long ago; the exact time beside it. */
export const Age = ({ since }: { since: string | undefined }) =>
  since ? (
    <time dateTime={since} title={dateTime(since)}>
      {relative(since)}
    </time>
  ) : null;
