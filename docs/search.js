// Search of the site, in the page, without a server: the index is the script search/search_index.js.
// In node, docs/site.py asks it which page is first for a query.
'use strict';

// The index of what mkdocs extracted: a document per page and per section.
function makeIndex(lunr, documents) {
  return lunr(function () {
    this.ref('location');
    this.field('title', {boost: 20});
    this.field('page', {boost: 4});
    this.field('text');
    this.metadataWhitelist = [];
    for (const document of documents) {
      const page = titleOfPage(documents, document);
      const whole = !document.location.includes('#');  // a page: its sections have the text again
      this.add({location: document.location, title: document.title, page, text: whole ? '' : document.text}, {boost: whole ? 1.5 : 1});
    }
  });
}

function titleOfPage(documents, document) {
  const page = document.location.split('#')[0];
  return (documents.find((other) => other.location === page) || document).title;
}

// The documents that have all words of the query, best first; then those with some of them.
function find(lunr, index, documents, query) {
  const words = query.toLowerCase().split(/[^\p{L}\p{N}_]+/u).filter((word) => word.length > 1);
  if (words.length === 0) return [];
  const search = (presence) => index.query((q) => {
    for (const word of words) {
      q.term(lunr.tokenizer(word), {presence, boost: 10});
      if (presence === lunr.Query.presence.OPTIONAL && word.length > 3)
        q.term(lunr.tokenizer(word), {wildcard: lunr.Query.wildcard.TRAILING, usePipeline: false});
    }
  });
  const found = search(lunr.Query.presence.REQUIRED), refs = new Set(found.map(({ref}) => ref));
  for (const other of search(lunr.Query.presence.OPTIONAL)) if (!refs.has(other.ref)) found.push(other);
  return found.map(({ref}) => documents.find((document) => document.location === ref));
}

if (typeof module !== 'undefined') {
  module.exports = {makeIndex, find, titleOfPage};
} else {
  window.addEventListener('DOMContentLoaded', () => {
    const input = document.getElementById('mkdocs-search-query'), results = document.getElementById('mkdocs-search-results');
    if (!input || !results) return;
    const documents = window.searchIndex.docs, index = makeIndex(window.lunr, documents);
    const show = () => {
      results.replaceChildren();
      for (const found of find(window.lunr, index, documents, input.value).slice(0, 20)) {
        const entry = document.createElement('article'), link = document.createElement('a'), text = document.createElement('p');
        link.href = base_url.replace(/\/?$/, '/') + found.location;
        const page = titleOfPage(documents, found);
        link.textContent = page === found.title ? page : `${page}: ${found.title}`;
        text.textContent = found.text.slice(0, 160);
        entry.append(link, text);
        results.append(entry);
      }
      if (results.childElementCount === 0 && input.value) results.textContent = 'No page has these words.';
    };
    const query = new URLSearchParams(window.location.search).get('q');
    if (query) input.value = query;
    input.addEventListener('input', show);
    show();
  });
}
