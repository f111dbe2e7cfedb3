/** Given to each page by its route: the parts of the path behind colons. */
export interface PageProps {
  params: Readonly<Record<string, string>>;
}
