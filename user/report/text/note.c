// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/text/note.h"

void text_loss(struct page *page, const char *sentence)
{
	page_to(page, TEXT_INDENT);
	page_text(page, STYLE_WARNING, "! ");
	page_sentence(page, STYLE_WARNING, TEXT_INDENT + 2, sentence);
}
