// Everything on a page that is not as the site's own code makes it.
() => {
  const every = [...document.querySelectorAll("*")];
  const path = (url) => new URL(url).pathname;
  const attribute = (one) => [...one.attributes].some((a) => a.name.startsWith("on") || a.name === "style");
  return {
    pwned: window.pwned ?? null,
    scripts: [...document.scripts].map((one) => path(one.src)).filter((found) => !/\/(static|data)\//.test(found)),
    inline: [...document.scripts].filter((one) => one.textContent).length,
    links: [...document.querySelectorAll("a[href]")].map((one) => one.protocol).filter((found) => found !== "file:"),
    images: [...document.images]
      .map((one) => path(one.src))
      .filter((found) => !/\/(thumbs|images)\/[0-9a-f]{2}\/[0-9a-f]{64}\.\w+$/.test(found)),
    handlers: every.filter(attribute).map((one) => one.outerHTML.slice(0, 99)),
    foreign: document.querySelectorAll("main :is(i, u, iframe, object, embed, style, link)").length,
  };
};
